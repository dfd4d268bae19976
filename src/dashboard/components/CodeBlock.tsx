import { CopyButton } from "./CopyButton.tsx"

export interface CodeBlockProps {
  readonly title: string
  readonly text: string
  /** The thing that the button copies: "the command". */
  readonly what: string
}

/** Text for a machine, with a button that copies it. Long lines scroll. */
export const CodeBlock = ({ text, title, what }: CodeBlockProps) => (
  <figure class="code">
    <figcaption>
      <span>{title}</span>
      <CopyButton text={text} what={what} />
    </figcaption>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard (WCAG 2.1.1). */}
    <section tabIndex={0} aria-label={title}>
      <pre>
        <code>{text}</code>
      </pre>
    </section>
  </figure>
)
