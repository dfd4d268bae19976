-- The bounds of API keys (R50), and what was spent of their budgets.
--
-- A rotation makes a key with another id. All keys that came from one by rotation have its id as their origin, null being
-- the key's own. Bounds and spending belong to the origin, so that they go over to a new secret (R51).
alter table api_keys add column origin_id text;

-- A key without bounds has no row, or one with nulls alone.
create table key_bounds (
  origin_id text primary key,
  expires_at timestamptz,
  targets text[],
  networks text[],
  budget_credits bigint check (budget_credits > 0),
  budget_period text check (budget_period in ('day', 'month', 'life')),
  constraint key_bounds_whole_budget check ((budget_credits is null) = (budget_period is null))
);

-- What was spent in one period of a budget, with what is held. Ledger functions alone write here, behind the lock of the
-- account's wallet. Room is left on each page because every search of a key with a budget updates a row.
create table key_spending (
  id bigint generated always as identity primary key,
  origin_id text not null,
  period text not null,
  period_start timestamptz not null,
  spent bigint not null default 0 constraint key_spending_not_negative check (spent >= 0),
  unique (origin_id, period, period_start)
) with (fillfactor = 50);

-- The spending that a hold counts in; null where the caller has no budget.
alter table holds add column key_spending_id bigint;

-- The start of the period of a budget that contains a moment, by the UTC calendar. A life has one period.
-- Of immutable functions alone, so that statements inline it: called as a function it took a millisecond of each.
create function key_budget_start(period text, moment timestamptz) returns timestamptz language sql immutable as $$
  select case
    when period = 'life' then to_timestamp(0)
    else date_trunc(period, moment at time zone 'UTC') at time zone 'UTC'
  end
$$;
