/** A person's part in the operator's console: an observer only reads. */
export const operatorRoles = ["operator", "observer"] as const
export type OperatorRole = (typeof operatorRoles)[number]
