/**
 * The TypeScript client as somebody installs it: packed, from its folder, without a registry, on an older
 * Node too.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstExample, openPerson, root, run } from './readme.ts'

const source = join(root, 'sdk/typescript')

test('packed and installed without a registry, the first example of its README sums a year to the cent', async (t) => {
  const { env, line } = await openPerson(t)
  const folder = await mkdtemp(join(tmpdir(), 'tributary-sdk-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const archive = (
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: source })
  ).trim()
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${archive}`], {
    cwd: folder,
  })
  await writeFile(join(folder, 'example.js'), firstExample('sdk/typescript/README.md', 'js'))
  // The Node on the path may be as old as 20. `TEST_NODES` names others.
  const others = (process.env.TEST_NODES ?? '').split(':').filter((path) => path !== '')
  for (const node of [process.execPath, 'node', ...others]) {
    assert.equal(await run(node, ['example.js'], { cwd: folder, env }), line, node)
  }
  await writeFile(
    join(folder, 'common.cjs'),
    "const { sum } = require('@tributary/client'); console.log(sum(['0.1', '0.2']))",
  )
  assert.equal(await run(process.execPath, ['common.cjs'], { cwd: folder, env }), '0.3\n')
})

test('the package is small: fewer than sixteen files and 96 kB, and no script runs when it is installed', async () => {
  const manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  assert.deepEqual([manifest.dependencies, manifest.scripts], [undefined, undefined])
  const files = (await readdir(source)).filter((name) =>
    /\.(?:js|d\.ts|md)$|^package\.json$/.test(name),
  )
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(source, name))).size))
  assert(files.length < 16, files.join())
  assert(sizes.reduce((sum, size) => sum + size, 0) < 96_000)
})
