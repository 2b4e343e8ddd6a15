/**
 * The library's server behind a check of parameters. The library parses them itself, but tells what is wrong as a dump of
 * its schemas over many lines, and for some methods as an internal error; here it is one line with -32602 (JSON-RPC 2.0
 * §5.1). It stands between transport and server, so that in a batch each entry has its own answer.
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

/** Of the protocol: 2025-* with its handshake, or 2026-07-28 without. */
export type Era = '2025' | '2026'
type Schemas = ReadonlyMap<string, StandardSchemaV1>

const lasting: readonly (readonly [string, StandardSchemaV1])[] = [
  ['tools/list', specTypeSchemas.ListToolsRequest],
  ['tools/call', specTypeSchemas.CallToolRequest],
]

/** Of the methods that take parameters and are answered here. The later era has no `initialize`: that is not found. */
const byEra: Readonly<Record<Era, Schemas>> = {
  2025: new Map([['initialize', specTypeSchemas.InitializeRequest], ...lasting]),
  2026: new Map(lasting),
}

/** As the library's, but a request with bad parameters is answered before the library sees it. */
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

/** The answer to a request whose parameters are no good; null when they are. */
function findProblem(request: JSONRPCRequest, schemas: Schemas) {
  const checked = schemas.get(request.method)?.['~standard'].validate(request)
  // The library's schemas judge at once; none of them asks anybody.
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

/** Which parameter, and what is expected of it. Deeper than that, names are the sender's own and not repeated. */
function describe({ path = [], message }: StandardSchemaV1.Issue): string {
  const names = path.map((part) => String(typeof part === 'object' ? part.key : part))
  return `${names.slice(0, 2).join('.')}: ${message.replace('Invalid input: ', '')}`
}
