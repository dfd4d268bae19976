import type { ComponentChildren } from "preact"
import { Brand } from "./ui/Brand.tsx"

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
