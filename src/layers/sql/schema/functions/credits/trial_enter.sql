-- Returns the trial's allowance for an account, and makes it if there is none (R32). A mailbox has one grant. While another
-- live account has it, this account gets an allowance of its own with the quota `own`, because the ledger locks accounts:
-- two that share an allowance could both spend its last credit. `granted` is the quota of a new grant; with `is_reset` an
-- existing one gets it too, but never less than what is used.
--
-- The lock on the mailbox serializes its accounts until they commit. Callers hold the account's wallet already.
create or replace function trial_enter(account text, address text, granted bigint, is_reset boolean, own bigint)
returns bigint language plpgsql as $$
declare
  mailbox_scope text := trial_scope(trial_mailbox(address));
  is_taken boolean;
  entered bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(mailbox_scope, 0));
  is_taken := exists (
    select from allowances l join accounts a on a.allowance_id = l.id
    where l.scope = mailbox_scope and a.id <> account and a.deleted_at is null
  );
  insert into allowances as l (scope, period_start, quota)
    values (case when is_taken then mailbox_scope || ':' || account else mailbox_scope end, to_timestamp(0),
      case when is_taken then own else granted end)
    on conflict (scope, period_start) do update
      set quota = case when is_reset then greatest(excluded.quota, l.used) else l.quota end
    returning id into entered;
  return entered;
end $$;
