-- Releases the expired holds of at most `most_accounts` accounts and returns their number. Skips accounts whose wallet
-- is locked: they are busy and are swept next time, or another replica is sweeping them. So sweeps never wait, and no
-- hold is released twice.
--
-- Holds of a dead replica expire immediately. Marking them does not take wallet locks, so it skips locked rows: the
-- transaction that holds such a row might be waiting for this one.
--
-- The time is a variable, because clock_timestamp() is volatile and so cannot be compared using an index. Every sweep
-- would read all holds left since the last vacuum.
--
-- The small table `replicas` is read by a sequential scan anyway. With `enable_seqscan` off, Postgres estimates such a
-- high cost for it that it would compile the statement (`jit`), which takes 70 to 140 ms of a core in each sweep.
create or replace function ledger_sweep(most_accounts integer) returns bigint
language plpgsql set lock_timeout = '2s' set enable_seqscan = off set jit = off as $$
declare
  moment timestamptz := clock_timestamp();
  gone text[] := replicas_gone();
  free_accounts text[];
  swept bigint;
begin
  if gone is not null then
    update holds h set expires_at = moment where h.id in (
      select g.id from holds g where g.replica_id = any (gone) and g.expires_at > moment for update skip locked
    );
  end if;
  select array_agg(t.account_id) into free_accounts from (
    select w.account_id from wallets w
    where w.account_id in (select distinct h.account_id from holds h where h.expires_at <= moment limit most_accounts)
    order by w.account_id for update skip locked
  ) as t;
  with taken as (
    delete from holds where account_id = any (free_accounts) and expires_at <= moment returning *
  ), quota_back as (
    update allowances l set used = l.used - t.credits
    from (select allowance_id as id, sum(from_quota)::bigint as credits from taken group by 1) as t
    where l.id = t.id
  ), balance_back as (
    update wallets w set balance = w.balance + t.credits
    from (select account_id as id, sum(from_balance)::bigint as credits from taken group by 1) as t
    where w.account_id = t.id
  ), budget_back as (
    update key_spending s set spent = s.spent - t.credits
    from (
      select u.id, sum(from_quota + from_balance)::bigint as credits
      from taken, unnest(array[key_spending_id, member_spending_id]) as u (id) where u.id is not null group by 1
    ) as t
    where s.id = t.id
  )
  select count(*) into swept from taken;
  return swept;
end $$;
