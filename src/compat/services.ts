import type { CompatShape } from "../domain/compat/CompatShape.ts"
import type { CompatService } from "./CompatService.ts"
import { brave } from "./services/brave.ts"
import { exa } from "./services/exa.ts"
import { firecrawl } from "./services/firecrawl.ts"
import { jina } from "./services/jina.ts"
import { openwebui } from "./services/openwebui.ts"
import { perplexity } from "./services/perplexity.ts"
import { searxng } from "./services/searxng.ts"
import { serper } from "./services/serper.ts"
import { tavily } from "./services/tavily.ts"

/** To add a service, create a file in `services/` and list it here. */
export const services: { readonly [S in CompatShape]: CompatService } = {
  searxng,
  tavily,
  openwebui,
  perplexity,
  brave,
  serper,
  exa,
  firecrawl,
  jina
}
