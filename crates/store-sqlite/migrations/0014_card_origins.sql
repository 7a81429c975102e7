-- Nothing to change here: on this backend rows are read column by column. The numbers stay equal.
SELECT 1;
