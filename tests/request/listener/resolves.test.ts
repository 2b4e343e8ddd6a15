/** The shorter way to resolve modules (`src/direct-resolution.ts`) gives the answers of the runtime. */
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { test } from 'node:test'
import { resolveDirectly } from '#src/direct-resolution.ts'

interface Resolved {
  readonly specifier: string
  readonly parent: string | undefined
  readonly url: string
  readonly format: string | null | undefined
}

/** What the runtime resolves while the given modules and what they import are loaded. */
async function recordResolutions(load: () => Promise<unknown>): Promise<readonly Resolved[]> {
  const resolved: Resolved[] = []
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const { url, format } = next(specifier, context)
      resolved.push({ specifier, parent: context.parentURL, url, format })
      return { url, ...(format === undefined ? {} : { format }) }
    },
  })
  await load()
  hooks.deregister()
  return resolved
}

const resolved = await recordResolutions(() =>
  Promise.all([
    import('#app/app.ts'),
    import('#app/doors.ts'),
    import('#app/admin-door.ts'),
    import('#sandbox/start.ts'),
    import('oidc-provider'),
  ]),
)

test('every module of the service is the one that the runtime finds, in the same format', () => {
  const direct = resolved.flatMap((one) => {
    const answer = resolveDirectly(one.specifier, one.parent)
    return answer === null ? [] : [{ one, answer }]
  })
  // Most of them; otherwise it would not be worth its place.
  assert(direct.length > 3000, `${direct.length} of ${resolved.length}`)
  for (const { one, answer } of direct) {
    assert.deepEqual(
      { url: answer.url, format: answer.format },
      { url: one.url, format: one.format },
      `${one.specifier} in ${one.parent}`,
    )
  }
})

test('what is not a module of ours, or has no ending, is left to the runtime', () => {
  const ours = new URL('../../../src/app/app.ts', import.meta.url).href
  const theirs = new URL('../../../node_modules/pg/lib/index.js', import.meta.url).href
  assert.equal(resolveDirectly('zod', ours), null)
  assert.equal(resolveDirectly('node:fs', ours), null)
  assert.equal(resolveDirectly('./data.json', ours), null)
  assert.equal(resolveDirectly('#app/app', ours), null)
  assert.equal(resolveDirectly('./client.js', theirs), null)
  assert.equal(resolveDirectly('#own/imports.ts', theirs), null)
  assert.equal(resolveDirectly('./app.ts', 'file:///elsewhere/index.ts'), null)
  assert.equal(resolveDirectly('./app.ts', undefined), null)
})
