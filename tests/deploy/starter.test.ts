/**
 * The starter in folders of its own, with a stand-in for npm that writes down how it was called: what it
 * installs, what it leaves alone, and what it refuses. The installs themselves are made for real in
 * `tests/cluster/image.test.ts`.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { serviceEnvironment } from './files.ts'
import { makeTree } from './starter-tree.ts'

test('an install without development packages serves and commands as it is: nothing is added', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  for (const script of ['src/main.ts', 'cli/main.ts']) {
    assert.deepEqual(tree.run(script), { code: 0, out: `ran ${script}\n`, err: '' })
  }
  assert.equal(tree.calls(), '')
})

test('the service alone gets what its memory allocator reads from the environment', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  const outOf = (script: string) => {
    writeFileSync(
      join(tree.folder, script),
      "const is = ([name]) => name.startsWith('MALLOC_')\nconsole.log(Object.entries(process.env).filter(is).sort().map((pair) => pair.join('=')).join(' '))\n",
    )
    return tree.run(script).out
  }
  assert.equal(outOf('src/main.ts'), `${serviceEnvironment.join(' ')}\n`)
  assert.equal(outOf('cli/main.ts'), '\n')
})

test('what needs development packages is refused where they were left out, with one line that says so', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  const { code, out, err } = tree.run('tests/all.ts')
  assert.deepEqual([code, out, tree.calls()], [1, '', ''])
  assert.match(
    err,
    /^tributary: this install has no development packages, .*npm ci --include=dev.*\n$/,
  )
  tree.install(false)
  assert.equal(tree.run('tests/all.ts').code, 0)
  assert.equal(tree.calls(), '')
})

test('stale packages are installed as they were installed: without development packages where they were left out', (t) => {
  for (const [omit, args] of [
    [true, 'ci --no-audit --no-fund --no-color --loglevel=http --omit=dev\n'],
    [false, 'ci --no-audit --no-fund --no-color --loglevel=http\n'],
  ] as const) {
    const tree = makeTree(t)
    tree.install(omit)
    tree.lock('2.0.0')
    tree.run('src/main.ts')
    assert.equal(tree.calls(), args)
  }
})

test('where nothing is installed, everything is', (t) => {
  const tree = makeTree(t)
  tree.run('src/main.ts')
  assert.equal(tree.calls(), 'ci --no-audit --no-fund --no-color --loglevel=http\n')
})

test('nothing is installed under a process that runs from the folder: a start is refused, a command uses what is there', async (t) => {
  const tree = makeTree(t)
  tree.install(false)
  tree.lock('2.0.0')
  const child = await tree.live()
  const pid = String(child.pid)
  for (const script of ['src/main.ts', 'tests/all.ts']) {
    const { code, out, err } = tree.run(script)
    assert.deepEqual([code, out], [1, ''])
    assert.match(
      err,
      new RegExp(`^tributary: .*process ${pid} runs .*nothing is installed under it.*\n$`),
    )
  }
  const command = tree.run('cli/main.ts')
  assert.deepEqual([command.code, command.out], [0, 'ran cli/main.ts\n'])
  assert.match(command.err, new RegExp(`^tributary: .*process ${pid} runs .*used as they are\n$`))
  assert.equal(tree.calls(), '')
  child.kill('SIGKILL')
  await once(child, 'exit')
  tree.run('cli/main.ts')
  assert.notEqual(tree.calls(), '')
})
