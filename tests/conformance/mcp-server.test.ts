/**
 * The official suite at both revisions: everything that a server with tools alone can be asked passes. The
 * baselines name what it cannot have; one that passes all of a sudden, or another failure, ends the run with
 * 1.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Service, startService } from '#tests/support/service.ts'
import { type KeyProxy, runSuite, startKeyProxy } from './official-suite.ts'

let service: Service
let proxy: KeyProxy
before(async () => {
  service = await startService()
  const user = await service.createUser()
  proxy = await startKeyProxy(service.baseUrl, user.key)
})
after(async () => {
  await proxy.close()
  await service.close()
})

const revisions = { '2025-11-25': 'baseline-2025.yml', '2026-07-28': 'baseline-2026.yml' }

for (const [revision, baseline] of Object.entries(revisions)) {
  test(`the requirements of ${revision} are met`, async () => {
    const { code, output } = await runSuite([
      'server',
      '--url',
      `${proxy.url}/mcp`,
      '--requirements',
      revision,
      '--expected-failures',
      fileURLToPath(new URL(baseline, import.meta.url)),
    ]).ended
    assert.equal(code, 0, output.slice(-4000))
    assert.match(output, /✓ tools-list: \d+ passed, 0 failed/)
    assert.match(output, /✓ dns-rebinding-protection: 2 passed, 0 failed/)
  })
}
