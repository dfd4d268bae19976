-- Trials that were granted to several addresses of one mailbox: the one with the most use becomes the mailbox's grant. The
-- accounts with the others keep what they were granted, and no further address of the mailbox gets a grant. Grants of
-- deleted accounts are known by digest only: trial_enter finds them when their address comes back.
declare
  mailbox record;
begin
  for mailbox in
    select m.scope, (
      select l.id from allowances l where l.scope = any (array_append(m.scopes, m.scope)) order by l.used desc, l.id limit 1
    ) as allowance_id
    from (
      select trial_scope(trial_mailbox(email)) as scope, array_agg(trial_scope(email)) as scopes
      from accounts where deleted_at is null and email <> ''
      group by 1 having bool_or(email <> trial_mailbox(email))
    ) as m
  loop
    update allowances set scope = scope || ':' || id where scope = mailbox.scope and id <> mailbox.allowance_id;
    update allowances set scope = mailbox.scope where id = mailbox.allowance_id and scope <> mailbox.scope;
  end loop;
end;
