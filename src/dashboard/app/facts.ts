import { parseTargetLabels } from "../search/targetLabels.ts"

/** Deployment settings embedded in the HTML document. None of them is secret. */

const { host, mail, passwords, scheme, targets } = document.body.dataset

/** False if the deployment sends no email; the operator passes links on instead. */
export const deliversEmails = mail === "true"

export const targetLabels = parseTargetLabels(targets)

/** False if people sign in only at the identity provider. */
export const hasPasswords = passwords !== "false"

/** False if the page was opened at an address other than `BASE_URL`, where sessions do not count. */
export const isAtOwnAddress = `${scheme}://${host}` === location.origin
