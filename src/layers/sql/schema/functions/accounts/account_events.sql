-- Who sent the request that the transaction serves: {"actor", "address", "browser"}, as far as it is known. The
-- transaction sets it (`Requester.ts`).
create or replace function current_requester() returns jsonb language sql stable as $$
  select coalesce(nullif(current_setting('quarry.requester', true), ''), '{}')::jsonb
$$;

-- Records an event of an account. `usual_actor` acted if the transaction does not say who did. A deleted account keeps
-- no events.
create or replace function account_event_add(account text, event_type text, content jsonb, usual_actor text)
returns void language sql as $$
  insert into account_events (id, account_id, type, actor, address, browser, changes)
  select 'act_' || replace(gen_random_uuid()::text, '-', ''), id, event_type, coalesce(r ->> 'actor', usual_actor),
    left(r ->> 'address', 64), left(r ->> 'browser', 256),
    case when octet_length(content::text) <= 4096 then content else '{"too_long": true}' end
  from accounts, current_requester() as r where id = account and deleted_at is null
$$;

-- Records an event of a person in each of their accounts, because a sign-in opens all of them.
create or replace function account_events_of_person(person text, event_type text, usual_actor text)
returns void language sql as $$
  select account_event_add(m.account_id, event_type, jsonb_build_object('email', u.email), usual_actor)
  from members m join auth_users u on u.id = m.user_id where m.user_id = person
$$;

-- For a table of what belongs to a person. Arguments: the type of the event, and the column of the person's id.
create or replace function account_events_of_persons_row() returns trigger language plpgsql as $$
declare
  person text := case tg_op when 'DELETE' then to_jsonb(old) else to_jsonb(new) end ->> tg_argv[1];
begin
  perform account_events_of_person(person, tg_argv[0], person);
  return null;
end $$;

-- A column's value as events show it: of an address only the host, because the rest can contain a secret.
create or replace function activity_value(name text, row_values jsonb) returns jsonb language sql immutable as $$
  select case name
    when 'url' then to_jsonb(regexp_replace(row_values ->> name, '^([a-z]+://)([^/?#]*@)?([^/?#]*).*$', '\1\3'))
    else row_values -> name
  end
$$;

-- For a table of what belongs to an account. Arguments: the type of the event, and the columns to record. An update
-- records the columns that changed, before and after.
create or replace function account_events_of_row() returns trigger language plpgsql as $$
declare
  earlier jsonb := case tg_op when 'INSERT' then '{}' else to_jsonb(old) end;
  present jsonb := case tg_op when 'DELETE' then earlier else to_jsonb(new) end;
  -- Of a member's bounds: 'member', the account, and the person or the invitation.
  bounded text[] := string_to_array(present ->> 'origin_id', ':');
  account text := coalesce(
    present ->> 'account_id', (select k.account_id from api_keys k where k.id = present ->> 'origin_id'),
    case tg_argv[0] when 'member.limited' then bounded[2] end, present ->> 'id'
  );
  content jsonb;
begin
  select coalesce(jsonb_object_agg(name, case tg_op
    when 'UPDATE' then jsonb_build_object('from', activity_value(name, earlier), 'to', activity_value(name, present))
    else activity_value(name, present)
  end), '{}') into content
  from unnest(tg_argv[1:]) as name
  where present -> name is distinct from coalesce(earlier -> name, 'null') or (tg_op = 'DELETE' and present ->> name is not null);
  if tg_table_name <> 'accounts' then
    content := content || jsonb_build_object('id', coalesce(present -> 'origin_id', present -> 'id'));
  end if;
  if tg_table_name = 'members' then
    content := content || jsonb_build_object('email', coalesce(
      present ->> 'email', (select u.email from auth_users u where u.id = present ->> 'user_id')
    ));
  end if;
  if tg_argv[0] = 'member.limited' then
    content := content - 'id' || coalesce((
      select jsonb_build_object('id', m.id, 'email', coalesce(u.email, m.email))
      from members m left join auth_users u on u.id = m.user_id
      where m.account_id = account and coalesce(m.user_id, m.id) = bounded[3]
    ), '{}');
  end if;
  perform account_event_add(account, tg_argv[0], content, case when tg_op <> 'DELETE' then present ->> 'user_id' end);
  return null;
end $$;

-- Shows an operator's command to the account that it was for, or to those of the person, without the operator's name and reason.
create or replace function account_events_of_command() returns trigger language plpgsql as $$
begin
  perform account_event_add(
    account, 'operator.command', jsonb_build_object('command', new.command) || (new.arguments - 'reason'), 'operator'
  )
  from (
    select id as account from accounts where id = new.subject
    union all select account_id from api_keys where id = new.subject
    union all select account_id from webhook_endpoints where id = new.subject
    union all select account_id from members where user_id = new.subject and starts_with(new.command, 'person ')
  ) as t;
  return null;
end $$;

-- Drops the months of events that ended 400 days ago.
create or replace function account_events_drop_months(moment timestamptz) returns void
language plpgsql set lock_timeout = '500ms' as $$
declare
  cutoff timestamptz := moment - interval '400 days';
  expired text;
begin
  perform pg_advisory_xact_lock(hashtext('queries_make_partitions'));
  for expired in
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'account_events'::regclass and relname ~ '_[0-9]{4}_[0-9]{2}$'
      and to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= cutoff at time zone 'utc'
  loop
    execute format('drop table %I', expired);
  end loop;
  delete from account_events_default where created_at < cutoff;
end $$;
