/**
 * What the served OpenAPI document says can be asked: every path with its parameters and what kind of value
 * each takes. The fuzzer knows no operation by heart: whatever the document gains is fuzzed from then on.
 */

/** How a value is drawn for a parameter, from its schema and its example. */
export type ParameterKind = 'integer' | 'id' | 'ids' | 'date' | 'text'

export interface DescribedParameter {
  readonly name: string
  readonly required: boolean
  readonly kind: ParameterKind
  /** What larger numbers are clamped to, as the description says; null: nothing is clamped. */
  readonly clampedTo: number | null
}

export interface DescribedOperation {
  readonly path: string
  readonly parameters: readonly DescribedParameter[]
  /** Statuses that the document knows for it. */
  readonly statuses: readonly number[]
}

interface ParameterNode {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: { readonly type?: string }
  readonly example?: unknown
}

interface OperationNode {
  readonly parameters?: readonly ParameterNode[]
  readonly responses: Readonly<Record<string, unknown>>
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, { readonly get?: OperationNode }>>
  readonly components: { readonly parameters?: Readonly<Record<string, ParameterNode>> }
}

/** Every GET of the document; throws when it has none, since then nothing would be fuzzed. */
export function readDescription(document: OpenApiDocument): readonly DescribedOperation[] {
  const operations = Object.entries(document.paths).flatMap(([path, { get }]) =>
    get === undefined
      ? []
      : [
          {
            path,
            parameters: (get.parameters ?? []).flatMap((node) => readParameter(document, node)),
            statuses: Object.keys(get.responses).map(Number),
          },
        ],
  )
  if (operations.length === 0) throw new Error('the document describes no operation')
  return operations
}

function readParameter(document: OpenApiDocument, node: ParameterNode): DescribedParameter[] {
  const name = node.$ref?.split('/').at(-1)
  const found = name === undefined ? node : document.components.parameters?.[name]
  if (found?.name === undefined || found.in !== 'query') return []
  const clamp = /clamped to (\d+)/.exec(found.description ?? '')?.[1]
  return [
    {
      name: found.name,
      required: found.required === true,
      kind: kindOf(found),
      clampedTo: clamp === undefined ? null : Number(clamp),
    },
  ]
}

function kindOf(parameter: ParameterNode): ParameterKind {
  if (parameter.schema?.type === 'integer') return 'integer'
  const example = String(parameter.example ?? '')
  if (/^\d{4}-\d{2}-\d{2}/.test(example)) return 'date'
  if (!/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(example)) return 'text'
  return /^comma-separated/i.test(parameter.description ?? '') ? 'ids' : 'id'
}
