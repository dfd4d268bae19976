import type { EventType } from "../../domain/Event.ts"
import { eventNames, eventTypes } from "../eventNames.ts"

interface EventChoiceProps {
  readonly legend: string
  readonly hint?: string
  readonly value: ReadonlyArray<EventType>
  readonly onChange: (types: ReadonlyArray<EventType>) => void
}

/** Any of the types of events: check boxes of the browser. */
export const EventChoice = ({ hint, legend, onChange, value }: EventChoiceProps) => (
  <fieldset class="kinds">
    <legend>{legend}</legend>
    {hint && <p class="hint">{hint}</p>}
    {eventTypes.map((type) => (
      <label key={type} class="kind">
        <input
          type="checkbox"
          checked={value.includes(type)}
          onChange={(event) =>
            onChange(eventTypes.filter((it) => (it === type ? event.currentTarget.checked : value.includes(it))))
          }
        />
        <span>
          {eventNames[type]} <code>{type}</code>
        </span>
      </label>
    ))}
  </fieldset>
)
