/** The form of an `X-Request-Id` (R2): a UUID of any version in any letter case. */
export const requestIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
