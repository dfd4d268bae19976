import type { SignUpMode } from "../../domain/accounts/signUp.ts"
import { parseTargetLabels } from "../search/targetLabels.ts"

/** Deployment settings embedded in the HTML document. None of them is secret. */

const { mail, providers, signUp, targets } = document.body.dataset

/** False if the deployment sends no email; the operator passes links on instead. */
export const deliversEmails = mail === "true"

export const signUpMode: SignUpMode = signUp === "closed" || signUp === "invite" ? signUp : "open"

export const targetLabels = parseTargetLabels(targets)

export type IdentityProvider = "google" | "github"

export const identityProviders: ReadonlyArray<IdentityProvider> = (["google", "github"] as const).filter((name) =>
  providers?.split(" ").includes(name)
)
