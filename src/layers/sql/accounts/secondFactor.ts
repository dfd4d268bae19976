/** SQL that is true if a person has a second factor (R66). `person` is a column with the person's ID. */
export const hasSecondFactor = (person: string): string =>
  `(exists (select from auth_authenticators f where f.user_id = ${person} and f.verified)
    or exists (select from auth_passkeys p where p.user_id = ${person}))`
