/**
 * What a mail is about, as it waits in the store: facts and ids, never the finished text. The text is written
 * when it is sent (src/mail/letters.ts), so that it tells what holds then.
 */
import { z } from 'zod'
import type { ConnectionId, EndpointId } from '#kernel/ids.ts'

/** A link that is valid once. `expiresAt`: milliseconds since the epoch. */
const withUrl = { email: z.string(), url: z.string(), expiresAt: z.int() }

export const MailMatter = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('invitation'), ...withUrl }),
  z.object({ kind: z.literal('confirmation'), ...withUrl }),
  z.object({ kind: z.literal('reset'), ...withUrl }),
  z.object({
    kind: z.literal('reconnect'),
    connectionId: z.string().transform((id) => id as ConnectionId),
  }),
  z.object({
    kind: z.literal('consent-expiry'),
    connectionId: z.string().transform((id) => id as ConnectionId),
    /** When the consent ends, as it was known when the mail was queued. */
    expiresAt: z.int(),
  }),
  z.object({
    kind: z.literal('endpoint-disabled'),
    endpointId: z.string().transform((id) => id as EndpointId),
    reason: z.enum(['gone', 'failing']),
  }),
  z.object({
    kind: z.literal('key-created'),
    /** As its owner called it. */
    name: z.string(),
    byOperator: z.boolean(),
    /** The key is an earlier one, and its secret is new. */
    isRotation: z.boolean().optional(),
  }),
  z.object({
    kind: z.literal('passkey-added'),
    /** As its owner called it. */
    name: z.string(),
  }),
  z.object({
    kind: z.literal('agent-connected'),
    /** As the agent calls itself. */
    name: z.string(),
    redirectHost: z.string(),
  }),
])
export type MailMatter = z.infer<typeof MailMatter>

export type MailKind = MailMatter['kind']
