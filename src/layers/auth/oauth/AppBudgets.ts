import { appBudgetPrefix } from "../../../domain/credits/Budget.ts"

/** `budgetOfApp` in a statement that has the account as `a` and a token or app as `t`. */
export const appBudgetSql = `'${appBudgetPrefix}' || a.id || ':' || t.client_id`
