-- Corrections of the books by an operator, and the runs of their verification.

-- made_by and reason: who wrote the entry by hand, and why. corrects: the hold whose charge an entry corrects.
alter table ledger_entries add column made_by text, add column corrects text;
alter table ledger_entries drop constraint ledger_entries_kind_check;
-- Not valid: rows that are there have one of the first two kinds, and reading all of them would hold up the searches.
alter table ledger_entries add constraint ledger_entries_kind_check
  check (kind in ('search', 'grant', 'adjustment')) not valid;
