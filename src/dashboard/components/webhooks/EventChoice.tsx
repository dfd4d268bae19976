import type { EventType } from "../../../domain/webhooks/Event.ts"
import { eventNames, eventTypes } from "../../eventNames.ts"

interface EventChoiceProps {
  readonly legend: string
  readonly hint?: string
  readonly value: ReadonlyArray<EventType>
  readonly onChange: (types: ReadonlyArray<EventType>) => void
}

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
            onChange(
              eventTypes.filter((other) => (other === type ? event.currentTarget.checked : value.includes(other)))
            )
          }
        />
        <span>
          {eventNames[type]} <code>{type}</code>
        </span>
      </label>
    ))}
  </fieldset>
)
