-- When an app last started a sign-in or asked for tokens. Null if it never did since it registered.
alter table auth_apps add column used_at timestamptz;

-- Earlier versions did not record uses, so existing registrations get the full time from now on.
update auth_apps set used_at = clock_timestamp();

create index auth_apps_used_at on auth_apps (coalesce(used_at, created_at));
