import { toMoment } from "../../../domain/requests/fields.ts"
import type { AuditEntry } from "../Audit.ts"

export const auditJson = ({ at, subject, ...entry }: AuditEntry) => ({
  id: entry.id,
  at: toMoment(at),
  operator: entry.operator,
  command: entry.command,
  subject: subject ?? null,
  arguments: entry.arguments
})
