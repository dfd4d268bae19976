import type { SignUpMode } from "../domain/signUp.ts"

/** Facts about the deployment that the document of the dashboard carries: nothing of them is secret. */

const { mail, providers, signUp } = document.body.dataset

/** False where emails are not delivered: the operator hands links on. */
export const deliversEmails = mail === "true"

/** Those who may sign up. The server decides for each address. */
export const signUpMode: SignUpMode = signUp === "closed" || signUp === "invite" ? signUp : "open"

export type IdentityProvider = "google" | "github"

export const identityProviders: ReadonlyArray<IdentityProvider> = (["google", "github"] as const).filter((name) =>
  providers?.split(" ").includes(name)
)
