/**
 * Checks parameters before the library's server. The library would answer invalid ones with a dump of its
 * schemas over many lines, and for some methods with an internal error; here the answer is one line with
 * -32602 (JSON-RPC 2.0 §5.1). The check is between transport and server, so that each entry of a batch has
 * its own answer.
 */
import {
  INVALID_PARAMS,
  isJSONRPCRequest,
  type JSONRPCRequest,
  Server,
  type StandardSchemaV1,
  specTypeSchemas,
  type Transport,
} from '@modelcontextprotocol/server'

/** Protocol versions: 2025-* with its handshake, or 2026-07-28 without. */
export type Era = '2025' | '2026'
type Schemas = ReadonlyMap<string, StandardSchemaV1>

const lasting: readonly (readonly [string, StandardSchemaV1])[] = [
  ['tools/list', specTypeSchemas.ListToolsRequest],
  ['tools/call', specTypeSchemas.CallToolRequest],
]

/** The methods with parameters that are answered here. The later era knows no `initialize`. */
const byEra: Readonly<Record<Era, Schemas>> = {
  2025: new Map([['initialize', specTypeSchemas.InitializeRequest], ...lasting]),
  2026: new Map(lasting),
}

/**
 * Extends the library's server: a request with invalid parameters is answered before the library handles it.
 */
export class CheckedServer extends Server {
  readonly #schemas: Schemas

  constructor(era: Era, ...given: ConstructorParameters<typeof Server>) {
    super(...given)
    this.#schemas = byEra[era]
  }

  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport)
    const deliver = transport.onmessage
    transport.onmessage = (message, extra) => {
      const problem = isJSONRPCRequest(message) ? findProblem(message, this.#schemas) : null
      if (problem === null) return deliver?.(message, extra)
      transport.send(problem, { relatedRequestId: problem.id }).catch((error: unknown) => {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)))
      })
    }
  }
}

/** The error answer for invalid parameters; null when they are valid. */
function findProblem(request: JSONRPCRequest, schemas: Schemas) {
  const checked = schemas.get(request.method)?.['~standard'].validate(request)
  // The library's schemas validate synchronously.
  if (checked === undefined || checked instanceof Promise || checked.issues === undefined) {
    return null
  }
  const lines = new Set(checked.issues.map(describe))
  const message = `Invalid params: ${[...lines].join('; ')}`
  return {
    jsonrpc: '2.0' as const,
    id: request.id,
    error: { code: INVALID_PARAMS, message },
  }
}

/** Names the parameter and what is expected. Nested names come from the sender and are not repeated. */
function describe({ path = [], message }: StandardSchemaV1.Issue): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return `${names.slice(0, 2).join('.')}: ${message.replace('Invalid input: ', '')}`
}
