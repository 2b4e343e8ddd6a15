/**
 * The tools as `tools/list` returns them, made from the operation table: JSON Schema 2020-12 without what
 * only zod needs. The list is the same for every caller and in the order of the table (reading R29; MCP
 * 2026-07-28, tools/list).
 */
import { z } from 'zod'
import { type Json, type JsonObject, publishMinorUnits, tidySchema } from './openapi-schemas.ts'
import { agentOperations, type Operation, operations } from './operations.ts'
import { ErrorEnvelope } from './resources.ts'
import type { ToolFacts } from './tools.ts'

/** An operation that is also a tool for agents. */
export type ToolOperation = Operation & { readonly tool: ToolFacts }

export interface ToolDescription {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonObject & { readonly type: 'object' }
  readonly outputSchema: JsonObject & { readonly type: 'object' }
  readonly annotations: JsonObject
}

/** Under which name agents call it. */
export function toolNameOf({ name, tool }: ToolOperation): string {
  return tool.name ?? name
}

export const toolOperations: readonly ToolOperation[] = [...operations, ...agentOperations].filter(
  (operation): operation is ToolOperation => operation.tool !== null,
)

/** The tools that are listed: those of the contract, or all (reading R44). */
export function listTools(hasExtraTools: boolean): readonly ToolOperation[] {
  return toolOperations.filter(({ tool }) => hasExtraTools || tool.isExtra !== true)
}

/** The listed tools, for any caller: each description says what a call needs, which the call checks. */
export function describeTools(hasExtraTools: boolean): readonly ToolDescription[] {
  return listTools(hasExtraTools).map((operation) => ({
    name: toolNameOf(operation),
    title: operation.title,
    description: operation.tool.description,
    inputSchema: toObjectSchema(z.toJSONSchema(operation.tool.input, { io: 'input' })),
    // Clients of the 1.x line check error results by this schema too: it allows both shapes (reading R28).
    outputSchema: toObjectSchema(
      z.toJSONSchema(z.union([operation.reply, ErrorEnvelope]), {
        unrepresentable: 'any',
        override: publishMinorUnits,
      }),
    ),
    annotations: {
      title: operation.title,
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: true,
    },
  }))
}

/** Omits `$schema`: draft 7 validators refuse an unknown dialect, and nothing here needs a newer one. */
function toObjectSchema(schema: unknown): JsonObject & { readonly type: 'object' } {
  const tidied = tidySchema(schema as Json, '#/$defs/')
  return { ...(tidied as JsonObject), type: 'object' }
}
