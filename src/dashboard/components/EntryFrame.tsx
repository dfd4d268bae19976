import type { ComponentChildren } from "preact"
import { Brand } from "./Brand.tsx"

/** The frame of the pages for somebody who is not signed in: one card in the middle. */
export const EntryFrame = ({ children }: { readonly children: ComponentChildren }) => (
  <div class="entry">
    <main>
      <Brand />
      {children}
    </main>
    <footer>
      <a href="/docs">API reference</a>
    </footer>
  </div>
)
