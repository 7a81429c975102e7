-- Nothing to change here: on this backend statements name the index they go by. The numbers stay equal.
SELECT 1;
