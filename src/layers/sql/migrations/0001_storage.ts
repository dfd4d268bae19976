import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ledgerFunctions } from "./0001_ledger_functions.ts"

/**
 * Accounts, credits, keys and the query log.
 *
 * What a search touches (wallets, allowances, holds, ledger_entries, queries) has no foreign keys: each would lock a
 * row of another table for every search. `Ledger.verify` is what tells that they agree.
 */
export const storage = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    create table accounts (
      id text primary key,
      email text not null,
      plan text not null,
      -- Null: usage is counted and never refused.
      quota bigint check (quota >= 0),
      concurrency integer not null check (concurrency >= 1),
      cycle_start timestamptz,
      -- The allowance that searches are counted in; null until the first one.
      allowance_id bigint,
      created_at timestamptz not null,
      deleted_at timestamptz
    )`
  yield* sql`create unique index accounts_email on accounts (email) where email <> '' and deleted_at is null`

  // One row for each account and period. The trial's belongs to the address and outlives the account (R32); its scope
  // is a digest, so that the address itself is not kept. Room is left on each page because every search updates a row.
  yield* sql`
    create table allowances (
      id bigint generated always as identity primary key,
      scope text not null,
      period_start timestamptz not null,
      period_end timestamptz,
      quota bigint,
      used bigint not null default 0,
      unique (scope, period_start),
      constraint allowances_within_quota check (used >= 0 and (quota is null or used <= quota))
    ) with (fillfactor = 50)`

  // The row that everything which moves an account's credits locks first.
  yield* sql`
    create table wallets (
      account_id text primary key references accounts (id),
      balance bigint not null default 0 constraint wallets_not_negative check (balance >= 0)
    ) with (fillfactor = 50)`

  yield* sql`
    create table holds (
      id text primary key,
      account_id text not null,
      allowance_id bigint not null,
      from_quota bigint not null check (from_quota >= 0),
      from_balance bigint not null check (from_balance >= 0),
      expires_at timestamptz not null
    )`
  yield* sql`create index holds_expires_at on holds (expires_at)`

  // quota_credits adds to what is used of the allowance, balance_credits to the pack balance: a search has a negative
  // one. The unique cause is what makes a repeated settlement charge once.
  yield* sql`
    create table ledger_entries (
      id bigint generated always as identity primary key,
      account_id text not null,
      allowance_id bigint,
      kind text not null check (kind in ('search', 'grant')),
      quota_credits bigint not null,
      balance_credits bigint not null,
      cause text not null unique,
      reason text,
      created_at timestamptz not null default now()
    )`
  yield* sql`create index ledger_entries_account on ledger_entries (account_id, created_at)`
  yield* sql`
    create function ledger_refuse_change() returns trigger language plpgsql as $$
    begin
      raise exception 'ledger_entries is append-only';
    end $$`
  yield* sql`
    create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
    for each statement execute function ledger_refuse_change()`

  yield* sql`create sequence queries_ordinal cache 100`
  yield* sql`
    create table queries (
      id text not null,
      hold_id text,
      account_id text,
      key_id text,
      batch_id text,
      target text not null,
      query text not null,
      geo text not null,
      locale text not null,
      page integer not null,
      num integer not null,
      safe text not null,
      source text not null,
      outcome text not null,
      credits integer not null check (credits >= 0),
      cached boolean not null,
      provider text,
      result_count integer not null,
      duration_ms bigint not null,
      created_at timestamptz not null default clock_timestamp(),
      -- Tells apart what a coarse clock does not: the rows of one batch keep the order they were written in.
      ordinal bigint not null default nextval('queries_ordinal'),
      primary key (id, created_at)
    ) partition by range (created_at)`
  yield* sql`create index queries_account on queries (account_id, created_at desc)`
  // A month that nobody made a partition for must not lose a charged search.
  yield* sql`create table queries_default partition of queries default`
  yield* sql`
    create function queries_make_partitions(moment timestamptz, months integer) returns void language plpgsql as $$
    declare
      month date;
    begin
      perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
      for month in
        select generate_series(
          date_trunc('month', moment at time zone 'utc'),
          date_trunc('month', moment at time zone 'utc') + make_interval(months => months - 1),
          interval '1 month'
        )
      loop
        if to_regclass('queries_' || to_char(month, 'YYYY_MM')) is null then
          begin
            execute format(
              'create table %I partition of queries for values from (%L) to (%L)',
              'queries_' || to_char(month, 'YYYY_MM'),
              month::timestamp at time zone 'utc',
              (month + interval '1 month')::timestamp at time zone 'utc'
            );
          exception when check_violation then
            -- The default partition holds rows of this month already, and goes on holding it.
            null;
          end;
        end if;
      end loop;
    end $$`
  yield* sql`
    create function queries_retained_since() returns timestamptz language sql stable as $$
      select coalesce(
        min(to_date(substring(relname from '^queries_([0-9]{4}_[0-9]{2})$'), 'YYYY_MM')::timestamp at time zone 'utc'),
        '-infinity'
      )
      from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'queries'::regclass
    $$`

  // Whole months: what is left of a month whose first days are past retention goes when the month does.
  yield* sql`
    create function queries_drop_before(moment timestamptz) returns void language plpgsql as $$
    declare
      partition text;
    begin
      perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
      for partition in
        select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = 'queries'::regclass and relname ~ '^queries_[0-9]{4}_[0-9]{2}$'
          and to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= moment at time zone 'utc'
      loop
        execute format('drop table %I', partition);
      end loop;
      delete from queries_default where created_at < moment;
    end $$`

  yield* sql`
    create table api_keys (
      id text primary key,
      account_id text not null references accounts (id),
      label text not null,
      mode text not null check (mode in ('live', 'test')),
      digest bytea not null unique,
      hint text not null,
      created_at timestamptz not null,
      last_used_at timestamptz,
      revoked_at timestamptz
    )`
  yield* sql`create index api_keys_account on api_keys (account_id, created_at desc)`

  yield* ledgerFunctions
})
