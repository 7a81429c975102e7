-- Nothing to change here: what this number does on the other backend, this one does in process. The numbers stay equal.
SELECT 1;
