-- Holds credits for a batch of requests, in one round trip for a batch of any size.
--
-- Each account's requests are served in arrival order, all or nothing, quota before balance (R30). Status of each
-- request:
--   held         the credits are held. An existing hold means this is a retry after a lost connection: it returns the
--                figures from before the hold, as the first response did
--   exceeded     neither quota nor balance covers the request
--   stale        the allowance has ended, or a plan change is due: the caller calls ledger_open and retries
--   unknown      the account does not exist
--   over_budget  a budget does not cover the request (R50): `budget_spent` of `budget_credits` are spent in the
--                `budget_period`. `budget_ids` has for each request the id of the key's or app's budget (key_bounds),
--                a space, and the id of its member's budget (R67). Either can be missing
--   over_member_budget  the same for the member's budget
--   answered     the same request was charged within 24 hours (R44): `answer` has the stored answer
--   running      the first request with this idempotency key still has its hold, or is earlier in this batch
--   different    the idempotency key was used for a different request
--
-- The last three apply to requests with an idempotency key: `routes`, `keys` and `fingerprints`. An unused key is
-- stored with the hold. A key is unused if there was no request with it for 24 hours, or if its hold ended without a
-- charge. Either all requests of a batch have a key or none has. A batch without keys or budgets skips those lookups.
--
-- Every ledger function first locks the wallets of its accounts in id order, then changes holds, then allowances, and
-- finally spending. The common order prevents deadlocks between replicas. Data is read after the lock in a separate
-- statement, so its snapshot includes every earlier ledger operation on these accounts.
--
-- Statements are planned once per connection: replanning took more than a third of the time of a small batch. The plan
-- must suit tables of any size, so plan types that read more rows than the batch needs are disabled. The planner would
-- choose them in the absence of statistics, as in a new database or PGlite, which never gathers any.
--
-- The commit does not wait for the disk: losing a hold in a server crash has the same effect as never making it.
-- set_config applies to the whole transaction, whereas a `set` clause of the function would be undone before the
-- commit.
create or replace function ledger_reserve(
  account_ids text[], hold_ids text[], amounts bigint[], moment timestamptz, lease_ms bigint, replica text default null,
  budget_ids text[] default null,
  routes text[] default null, keys text[] default null, fingerprints text[] default null
)
returns table (
  n bigint, status text, from_quota bigint, from_balance bigint, quota bigint, used bigint, balance bigint,
  plan text, cycle_start timestamptz, period_start timestamptz, period_end timestamptz,
  budget_credits bigint, budget_period text, budget_spent bigint, answer bytea
)
language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set jit = off
set enable_mergejoin = off set enable_material = off set lock_timeout = '2s'
as $$
#variable_conflict use_variable
declare
  request record;
  current_account text;
  held_ids text[] := '{}';
  held_accounts text[] := '{}';
  held_allowances bigint[] := '{}';
  held_quota bigint[] := '{}';
  held_balance bigint[] := '{}';
  held_spendings bigint[] := '{}';
  held_member_spendings bigint[] := '{}';
  held_requests bigint[] := '{}';
  held integer := 0;
  named_budgets text[] := string_to_array(array_to_string(budget_ids, ' '), ' ');
  -- One element per budget of the batch.
  budgets text[];
  budget_limits bigint[];
  budget_periods text[];
  budget_rooms bigint[];
  spendings bigint[];
  budget integer;
  member_budget integer;
  -- One element per request: its status by idempotency key. Null if the key is unused.
  key_states text[];
  key_answers bytea[];
begin
  perform set_config('synchronous_commit', 'off', true);
  perform from wallets w where w.account_id = any (account_ids) order by w.account_id for update;
  if budget_ids is not null then
    insert into key_spending (origin_id, period, period_start)
      select distinct b.origin_id, b.budget_period, key_budget_start(b.budget_period, moment) from key_bounds b
      where b.origin_id = any (named_budgets) and b.budget_credits is not null and not exists (
        select from key_spending s where s.origin_id = b.origin_id and s.period = b.budget_period
          and s.period_start = key_budget_start(b.budget_period, moment)
      );
    if found then
      -- No hold refers to a period that ended a day ago.
      delete from key_spending s using key_bounds b
        where b.origin_id = any (named_budgets) and s.origin_id = b.origin_id and s.period = b.budget_period
          and s.period_start < key_budget_start(b.budget_period, moment - interval '1 day');
    end if;
    select array_agg(b.origin_id), array_agg(b.budget_credits), array_agg(b.budget_period),
      array_agg(b.budget_credits - s.spent), array_agg(s.id)
      into budgets, budget_limits, budget_periods, budget_rooms, spendings
      from key_bounds b
      join key_spending s on s.origin_id = b.origin_id and s.period = b.budget_period
        and s.period_start = key_budget_start(b.budget_period, moment)
      where b.origin_id = any (named_budgets);
  end if;
  if keys is not null then
    select array_agg(
        case
          when t.is_used and t.fingerprint <> t.first_fingerprint then 'different'
          when t.is_used and t.answer is not null then 'answered'
          when t.is_used or t.uses > 1 then 'running'
        end order by t.n
      ), array_agg(t.answer order by t.n)
      into key_states, key_answers
      from (
        select u.*, row_number() over (partition by u.account_id, u.route, u.key, u.is_used order by u.n) as uses
        from (
          select r.*, k.fingerprint as first_fingerprint, k.answer,
            k.hold_id is distinct from r.hold_id and (k.answer is not null or h.id is not null) as is_used
          from unnest(account_ids, hold_ids, routes, keys, fingerprints) with ordinality
            as r (account_id, hold_id, route, key, fingerprint, n)
          left join lateral (
            select i.fingerprint, i.hold_id, i.answer from idempotency_keys i
            where i.account_id = r.account_id and i.route = r.route and i.key = r.key
              and i.slot in (idempotency_slot(moment), idempotency_slot(moment - interval '1 day'))
              and i.created_at > moment - interval '1 day'
            order by i.created_at desc limit 1
          ) k on true
          left join holds h on h.id = k.hold_id
        ) as u
      ) as t;
  end if;
  for request in
    select r.n, r.hold_id, r.amount, r.account_id, r.budget_id, r.key_state, a.plan, a.cycle_start, a.allowance_id, a.next_plan_at,
      l.period_start, l.period_end, l.quota, l.used, w.balance, h.from_quota, h.from_balance,
      -- The part of `l.used` that the hold added. 0 if the hold belongs to an earlier period.
      case when h.allowance_id = a.allowance_id then h.from_quota else 0 end as own_quota
    from unnest(account_ids, hold_ids, amounts, budget_ids, key_states) with ordinality
      as r (account_id, hold_id, amount, budget_id, key_state, n)
    left join accounts a on a.id = r.account_id and a.deleted_at is null
    left join wallets w on w.account_id = a.id
    left join allowances l on l.id = a.allowance_id
    left join holds h on h.id = r.hold_id
    order by r.account_id, r.n
  loop
    if request.account_id is distinct from current_account then
      current_account := request.account_id;
      plan := request.plan;
      cycle_start := request.cycle_start;
      period_start := request.period_start;
      period_end := request.period_end;
      quota := request.quota;
      used := request.used;
      balance := request.balance;
    end if;
    n := request.n;
    from_quota := 0;
    from_balance := 0;
    budget := array_position(budgets, split_part(request.budget_id, ' ', 1));
    member_budget := array_position(budgets, split_part(request.budget_id, ' ', 2));
    if balance is null then
      status := 'unknown';
      return next;
    elsif request.key_state is not null then
      status := request.key_state;
      answer := case when status = 'answered' then key_answers[n] end;
      return next;
      answer := null;
    elsif request.from_quota is not null then
      status := 'held';
      from_quota := request.from_quota;
      from_balance := request.from_balance;
      used := used - request.own_quota;
      balance := balance + from_balance;
      return next;
      used := used + request.own_quota;
      balance := balance - from_balance;
    elsif request.amount > budget_rooms[budget] or request.amount > budget_rooms[member_budget] then
      if request.amount > budget_rooms[budget] then
        status := 'over_budget';
      else
        status := 'over_member_budget';
        budget := member_budget;
      end if;
      budget_credits := budget_limits[budget];
      budget_period := budget_periods[budget];
      budget_spent := budget_credits - budget_rooms[budget];
      return next;
      budget_credits := null;
      budget_period := null;
      budget_spent := null;
    elsif used is null or period_end <= moment or request.next_plan_at <= moment then
      status := 'stale';
      return next;
    else
      from_quota := least(request.amount, coalesce(quota - used, request.amount));
      from_balance := request.amount - from_quota;
      if from_balance > balance then
        status := 'exceeded';
        return next;
      else
        status := 'held';
        return next;
        held := held + 1;
        held_ids[held] := request.hold_id;
        held_accounts[held] := request.account_id;
        held_allowances[held] := request.allowance_id;
        held_quota[held] := from_quota;
        held_balance[held] := from_balance;
        held_spendings[held] := spendings[budget];
        held_member_spendings[held] := spendings[member_budget];
        held_requests[held] := n;
        used := used + from_quota;
        balance := balance - from_balance;
        if budget is not null then
          budget_rooms[budget] := budget_rooms[budget] - request.amount;
        end if;
        if member_budget is not null then
          budget_rooms[member_budget] := budget_rooms[member_budget] - request.amount;
        end if;
      end if;
    end if;
  end loop;
  if held = 0 then
    return;
  end if;
  insert into holds (
    id, account_id, allowance_id, from_quota, from_balance, key_spending_id, member_spending_id, expires_at, replica_id
  )
    select t.*, clock_timestamp() + lease_ms * interval '1 millisecond', replica
    from unnest(
      held_ids, held_accounts, held_allowances, held_quota, held_balance, held_spendings, held_member_spendings
    ) as t;
  update allowances l set used = l.used + t.credits
    from (
      select h.id, sum(h.credits)::bigint as credits from unnest(held_allowances, held_quota) as h (id, credits)
      group by h.id
    ) as t
    where l.id = t.id and t.credits > 0;
  update wallets w set balance = w.balance - t.credits
    from (
      select h.id, sum(h.credits)::bigint as credits from unnest(held_accounts, held_balance) as h (id, credits)
      where h.credits > 0
      group by h.id
    ) as t
    where w.account_id = t.id;
  if budgets is not null then
    update key_spending s set spent = s.spent + t.credits
      from (
        select h.id, sum(h.quota + h.balance)::bigint as credits
        from unnest(
          held_spendings || held_member_spendings, held_quota || held_quota, held_balance || held_balance
        ) as h (id, quota, balance)
        where h.id is not null
        group by h.id
      ) as t
      where s.id = t.id;
  end if;
  if keys is not null then
    insert into idempotency_keys (slot, account_id, route, key, fingerprint, hold_id, created_at)
      select idempotency_slot(moment), account_ids[t.n], routes[t.n], keys[t.n], fingerprints[t.n], hold_ids[t.n], moment
      from unnest(held_requests) as t (n)
      on conflict (account_id, route, key, slot) do update
        set fingerprint = excluded.fingerprint, hold_id = excluded.hold_id, created_at = excluded.created_at,
          answer = null;
  end if;
end $$;
