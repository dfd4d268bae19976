import { CopyButton } from "./CopyButton.tsx"

export interface CodeBlockProps {
  readonly title: string
  readonly text: string
  /** The object of the sentence "Copied …", such as "the command". */
  readonly what: string
}

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
