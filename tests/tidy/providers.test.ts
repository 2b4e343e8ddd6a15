/**
 * A new provider is a folder with an adapter, a folder with an emulator, and the lines that the compiler asks
 * for: nothing else knows one by name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { settings } from '#settings/settings.ts'
import { codeFiles, files, isTest, readText } from './tree.ts'

/** Where a name may stand, and why. */
const registries: Readonly<Record<string, string>> = {
  'src/contract/resources.ts': 'the names are of the public contract',
  'src/contract/openapi-examples.ts': 'documentation: what an answer looks like',
  'src/contract/tools.ts': 'documentation: what a model reads of the public names',
  'src/providers/all-facts.ts': 'one line each',
  'src/providers/adapters.ts': 'one line each',
  'sandbox/emulators.ts': 'one entry each',
  'src/settings/settings.ts': 'the variables of operators, in the order of the documentation',
  'src/telemetry/redact.ts': 'a header that must never be printed, wherever it comes from',
  'src/fast/link-state.ts': 'not a provider: a link that is up',
  'sandbox/demo.ts': 'the account that the first page of the demo shows',
}

/** A name that is also an English word counts as a literal, in a path, and in the name of a variable. */
const words: readonly string[] = ['up']
/** SimpleFIN is also the name of a door: only what is said of the provider counts. */
const ofProvider: Readonly<Record<string, string>> = { simplefin: `provider['"]?: 'simplefin'` }
const toPattern = (provider: string) =>
  ofProvider[provider] ??
  (words.includes(provider) ? `['"\`/]${provider}['"\`/]|\\b${provider}_[a-z]` : provider)
const name = new RegExp(`(?:${providerNames.map(toPattern).join('|')})`, 'i')
const isProduct = (path: string) => /^(?:src|cli|sandbox)\//.test(path) && !isTest(path)
const isOwn = (path: string) =>
  providerNames.some((provider) =>
    [`src/providers/${provider}/`, `sandbox/${provider}/`].some((own) => path.startsWith(own)),
  )

/** Comments may name one as an example. */
const withoutComments = (text: string) =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/[^\n]*/g, '$1')

test('no code outside its folders knows a provider by name', () => {
  const knowing = codeFiles
    .filter((path) => isProduct(path) && !isOwn(path) && registries[path] === undefined)
    .filter((path) => name.test(withoutComments(readText(path))))
  assert.deepEqual(knowing, [])
})

test('every exception from that still needs to be one', () => {
  const idle = Object.keys(registries).filter(
    (path) => !codeFiles.includes(path) || !name.test(withoutComments(readText(path))),
  )
  assert.deepEqual(idle, [])
})

test('the variables that the facts name are those that there are for the provider', () => {
  for (const provider of providerNames) {
    const { baseUrl, required, optional, preset, files: named = {} } = factsOf(provider).settings
    const groups = [required, optional, preset, named]
    const all = [baseUrl, ...groups.flatMap((some) => Object.values(some))]
    const known = settings.map(([variable]) => variable as string)
    const own = known.filter((variable) => variable.startsWith(`${provider.toUpperCase()}_`))
    assert.deepEqual(all.sort(), own.sort())
  }
})

test('every adapter has the same files, and further ones say of what they are', () => {
  const core = ['client.ts', 'consent.ts', 'facts.ts', 'failures.ts', 'index.ts', 'reader.ts']
  for (const provider of providerNames) {
    const own = files.filter((path) => path.startsWith(`src/providers/${provider}/`))
    const names = own.map((path) => path.split('/').at(-1) ?? '')
    assert.deepEqual(
      core.filter((file) => !names.includes(file)),
      [],
      provider,
    )
    assert.ok(
      names.some((file) => /^map(?:-[a-z]+)?\.ts$/.test(file)),
      provider,
    )
    assert.ok(files.includes(`tests/adapters/${provider}/harness.ts`), provider)
    const page = factsOf(provider).name.toLowerCase().replaceAll(' ', '-')
    assert.ok(files.includes(`docs/providers/${page}.md`), provider)
  }
})
