-- Providers that searches skip, because an operator paused them. engine: empty for all engines of the provider.
create table provider_pauses (
  provider text not null,
  engine text not null default '',
  paused_by text not null,
  reason text not null,
  paused_at timestamptz not null default clock_timestamp(),
  primary key (provider, engine)
);
