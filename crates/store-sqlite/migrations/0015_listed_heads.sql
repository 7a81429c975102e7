-- Nothing to change here: on this backend a guard travels as parameters. The numbers stay equal.
SELECT 1;
