-- What operators read about accounts. Neither table gets rows from a search, and a search changes none of these columns.

-- Pages of accounts, newest first. Without it, each page would sort all accounts.
create index if not exists accounts_newest on accounts (created_at desc, id desc) where deleted_at is null;

-- The account of a key by the shown start of its secret, or by the start of its name, in any collation of the database.
create index if not exists api_keys_hint on api_keys (hint collate "C");
create index if not exists api_keys_label on api_keys (lower(label) collate "C");
