/**
 * The first description of this API (2026-11-01), without its words, beside the present one: a client that
 * was generated from it must go on to work. What may be added: fields that an answer need not have, headers,
 * answers of a status, operations, parameters that are not required, and names of providers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeOpenApi } from '#contract/openapi.ts'
import first from './first-description.json' with { type: 'json' }

type Node = Readonly<Record<string, unknown>>

const now: unknown = makeOpenApi({ baseUrl: 'https://api.tributary.test', version: '1.2.3' })

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function resolve(document: unknown, node: unknown): unknown {
  const reference = isNode(node) ? node.$ref : undefined
  if (typeof reference !== 'string') return node
  const path = reference.slice(2).split('/')
  return path.reduce<unknown>((at, key) => (isNode(at) ? at[key] : undefined), document)
}

/** Fields whose lists may grow. */
const isGrowing = (path: string) => /\/provider(?:\/anyOf\/0)?\/enum$/.test(path)

/** Every place below `path` at which the present description is not what the first one was. */
function* compare(path: string, before: unknown, after: unknown): Generator<string> {
  const [old, present] = [resolve(first, before), resolve(now, after)]
  if (Array.isArray(old) && Array.isArray(present)) {
    const missing = isGrowing(path) ? old.filter((value) => !present.includes(value)) : []
    if (!isGrowing(path)) yield* compareLists(path, old, present)
    yield* missing.map((value) => `${path}: ${value} is gone`)
  } else if (isNode(old) && isNode(present)) {
    for (const [key, value] of Object.entries(old))
      yield* compare(`${path}/${key}`, value, present[key])
  } else if (old !== present) yield `${path}: ${JSON.stringify(old)} is ${JSON.stringify(present)}`
}

function* compareLists(path: string, old: unknown[], present: unknown[]): Generator<string> {
  const isOfParameters = path.endsWith('/parameters')
  const names = (list: unknown[], document: unknown) =>
    new Map(list.map((one) => [(resolve(document, one) as Node).name, one]))
  if (isOfParameters) {
    const given = names(present, now)
    for (const [name, one] of names(old, first))
      yield* compare(`${path}/${name}`, one, given.get(name))
    for (const one of present.slice(old.length))
      if ((resolve(now, one) as Node).required === true) yield `${path}: a new one is required`
    return
  }
  if (old.length !== present.length) yield `${path}: ${old.length} are ${present.length}`
  for (const [index, value] of old.entries())
    yield* compare(`${path}/${index}`, value, present[index])
}

test('R39 to R43: a client that was generated from the first description goes on to work', () => {
  assert.deepEqual([...compare('', first.paths, (now as Node).paths)], [])
  assert.deepEqual([...compare('', first.webhooks, (now as Node).webhooks)], [])
})

test('a description that takes something away is noticed', () => {
  const changed = structuredClone(first.components.schemas) as unknown as Record<
    string,
    { required: string[]; properties: Record<string, unknown> }
  >
  const balance = changed.Balance
  assert.ok(balance !== undefined)
  balance.required.pop()
  delete balance.properties.currency
  const problems = [...compare('', first.components.schemas, changed)]
  assert.ok(problems.some((problem) => problem.includes('/Balance/properties/currency')))
  assert.ok(problems.some((problem) => problem.includes('/Balance/required')))
})
