-- Deducts credits from the pack balance, down to 0, and records the rest as owed (R40). The caller holds the lock on
-- the wallet and passes each cause only once.
create or replace function ledger_take_back(account text, credits bigint, why text, refund_cause text)
returns void language plpgsql as $$
declare
  taken bigint;
begin
  select least(w.balance, credits) into taken from wallets w where w.account_id = account;
  insert into ledger_entries (account_id, kind, quota_credits, balance_credits, owed_credits, cause, reason)
    values (account, 'refund', 0, -taken, credits - taken, refund_cause, why);
  update wallets w set balance = w.balance - taken, owed = w.owed + credits - taken where w.account_id = account;
end $$;
