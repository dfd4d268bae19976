/** What a person may do in the operator's console: everything, or only read. */
export const operatorRoles = ["operator", "observer"] as const
export type OperatorRole = (typeof operatorRoles)[number]
