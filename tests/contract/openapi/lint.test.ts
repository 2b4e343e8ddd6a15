/**
 * The public document and that of the admin API are clean under the two rule sets that their readers are
 * likely to run: Redocly's `recommended` and Spectral's `spectral:oas`. A warning counts as a finding.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core'
import spectralRulesets from '@stoplight/spectral-rulesets'
import { makeOpenApi } from '#contract/openapi.ts'
import { makeAdminOpenApi } from '#doors/admin/openapi.ts'

const adminDocument = makeAdminOpenApi('1.2.3')
const document = makeOpenApi({ baseUrl: 'https://api.tributary.test', version: '1.2.3' })

async function lintWithRedocly(source: unknown): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({
    source: JSON.stringify(source),
    absoluteRef: 'openapi.json',
    config,
  })
  return problems.map((problem) => `${problem.ruleId}: ${problem.message}`)
}

async function lintWithSpectral(source: unknown): Promise<string[]> {
  const spectral = new spectralCore.Spectral()
  // The declared types of the two packages do not fit each other.
  const rules = spectralRulesets.oas as unknown as RulesetDefinition
  spectral.setRuleset({ extends: [[rules, 'recommended']] })
  const results = await spectral.run(source as Record<string, unknown>)
  return results.map((result) => `${result.code} at ${result.path.join('.')}: ${result.message}`)
}

/** The document with wrong examples and without licence and contact: what both linters must object to. */
function spoiled(): unknown {
  const text = JSON.stringify({ ...document, info: { title: 'x', version: '1' } })
  return JSON.parse(text.replaceAll('"hasMore":false', '"hasMore":"no"'))
}

test('the document has no finding under the recommended rules of Redocly', async () => {
  assert.deepEqual(await lintWithRedocly(document), [])
})

test('the document has no finding under the OpenAPI rules of Spectral', async () => {
  assert.deepEqual(await lintWithSpectral(document), [])
})

test('the document of the admin API has no finding under the same rules', async () => {
  assert.deepEqual(await lintWithRedocly(adminDocument), [])
  assert.deepEqual(await lintWithSpectral(adminDocument), [])
})

test('both linters report an invalid example and a missing licence', async () => {
  const redocly = await lintWithRedocly(spoiled())
  assert.ok(redocly.some((line) => line.startsWith('info-license')))
  assert.ok(redocly.some((line) => line.startsWith('no-invalid-media-type-examples')))
  const spectral = await lintWithSpectral(spoiled())
  assert.ok(spectral.some((line) => line.startsWith('info-contact')))
  assert.ok(spectral.some((line) => line.startsWith('oas3-valid-media-example')))
})
