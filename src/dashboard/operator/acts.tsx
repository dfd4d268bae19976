import { signal } from "@preact/signals"
import { useState } from "preact/hooks"
import { commandLine } from "../../domain/operations/commandLine.ts"
import { call, explain } from "../api/client.ts"
import { readAgain } from "../app/session.ts"
import { submitting, useForm } from "../app/useForm.ts"
import { Button } from "../components/ui/Button.tsx"
import { CodeBlock } from "../components/ui/CodeBlock.tsx"
import { Dialog, DialogActions } from "../components/ui/Dialog.tsx"
import { Field, type Option, SelectField } from "../components/ui/Field.tsx"
import { Menu } from "../components/ui/Menu.tsx"
import { Notice } from "../components/ui/Notice.tsx"
import { announce } from "../components/ui/Toast.tsx"
import { plural } from "../format.ts"
import type { Act } from "./api.ts"
import { mayAct } from "./console.ts"

export interface ActField {
  readonly name: string
  readonly label: string
  readonly type?: "text" | "number" | "email"
  /** The choices of a field that is not typed. */
  readonly options?: ReadonlyArray<Option>
  readonly value?: string
  readonly hint?: string
  readonly isOptional?: boolean
}

/** A command as a dialog: what it changes, the fields that the person fills in, and the command itself. */
export interface Offer {
  /** The words of the button that opens the dialog, and of the one that acts. */
  readonly text: string
  readonly about: string
  readonly lead: string
  /** The command, and the fields that the page knows. */
  readonly act: Act
  readonly fields?: ReadonlyArray<ActField>
  readonly isDanger?: boolean
  /** A name to type first, for what cannot be undone. */
  readonly name?: string
}

const opened = signal<Offer | undefined>(undefined)

const open = (offer: Offer): void => {
  opened.value = offer
}

/** `isInRow` if other rows have a button with the same words. */
export const ActButton = ({ isInRow = false, offer }: { readonly offer: Offer; readonly isInRow?: boolean }) =>
  mayAct.value && (
    <Button small={isInRow} {...(isInRow && { label: `${offer.text} ${offer.about}` })} onClick={() => open(offer)}>
      {offer.text}
    </Button>
  )

export const ActMenu = ({ label, offers }: { readonly label: string; readonly offers: ReadonlyArray<Offer> }) =>
  mayAct.value && (
    <Menu
      label={label}
      items={offers.map((offer) => ({ ...offer, isDanger: offer.isDanger ?? false, onSelect: () => open(offer) }))}
    />
  )

type Values = Readonly<Record<string, string>>

const actOf = ({ act, fields = [] }: Offer, values: Values): Act => ({
  ...act,
  ...Object.fromEntries(
    fields.flatMap(({ isOptional, name, type }) => {
      const text = (values[name] ?? "").trim()
      return text === "" && isOptional ? [] : [[name, type === "number" ? Number(text) : text]]
    })
  )
})

interface InputProps {
  readonly field: ActField
  readonly isFirst: boolean
  readonly value: string
  readonly issue: string | undefined
  readonly onInput: (value: string) => void
}

const Input = ({ field, isFirst, issue, onInput, value }: InputProps) => {
  const { hint, isOptional = false, label, name, options, type = "text" } = field
  const shared = { hint, label, name, value, error: issue && `The value ${issue}.` }
  if (options !== undefined) return <SelectField {...shared} options={options} onChange={onInput} />
  const input = { required: !isOptional, autocomplete: "off", autofocus: isFirst, step: "1" } as const
  return <Field {...shared} type={type} onInput={onInput} input={input} />
}

/** What a removal reports, or only that the command succeeded. */
const doneOf = ({ dropped, removed }: Readonly<Record<string, unknown>>): string => {
  if (typeof removed === "number") return `${plural(removed, "document")} removed.`
  return typeof dropped === "number" ? `${plural(dropped, "delivery", "deliveries")} dropped.` : "done."
}

const OfferDialog = ({ offer }: { readonly offer: Offer }) => {
  const { about, fields = [], isDanger = false, lead, name, text } = offer
  const { busy, error, run } = useForm()
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(fields.map(({ name, options, value }) => [name, value ?? options?.[0]?.value ?? ""]))
  )
  const [typed, setTyped] = useState("")
  const act = actOf(offer, values)
  const isConfirmed = name === undefined || typed.trim() === name
  const issues = error?.issues ?? {}
  const close = (): void => {
    opened.value = undefined
  }
  const send = (): void => {
    if (!isConfirmed) return
    run(
      () => call("POST /v1/operator/acts", { body: act }),
      (result) => {
        announce(`${text} (${about}): ${doneOf(result)}`)
        close()
        readAgain()
      }
    )
  }
  return (
    <Dialog title={`${text}: ${about}`} onClose={close}>
      <form onSubmit={submitting(send)}>
        <p>{lead}</p>
        {error && !fields.some(({ name }) => name in issues) && <Notice text={explain(error)} />}
        {fields.map((field, index) => (
          <Input
            key={field.name}
            field={field}
            isFirst={index === 0}
            value={values[field.name] ?? ""}
            issue={issues[field.name]}
            onInput={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        {name !== undefined && (
          <Input
            field={{ name: "confirmation", label: `Type ${name} to confirm` }}
            isFirst={fields.length === 0}
            value={typed}
            issue={undefined}
            onInput={setTyped}
          />
        )}
        <CodeBlock title="The same as a command" text={commandLine(act)} what="the command" />
        <DialogActions
          action={text}
          kind={isDanger ? "danger" : "primary"}
          busy={busy}
          disabled={!isConfirmed}
          onClose={close}
        />
      </form>
    </Dialog>
  )
}

export const ActDialog = () => opened.value && <OfferDialog offer={opened.value} />
