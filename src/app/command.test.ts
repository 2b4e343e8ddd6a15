/** The command line that is printed works on the install that prints it. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { findCommand } from './command.ts'

test('the command is called by npm when npm started the process, by its name when the path has a wrapper of this install, else by the pinned runtime', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-command-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [ours, others] = [join(folder, 'ours'), join(folder, 'others')]
  for (const place of [ours, others]) mkdirSync(place)
  writeFileSync(join(ours, 'tributary'), '#!/bin/sh\nexec node /opt/tributary/cli/main.ts "$@"\n')
  writeFileSync(join(others, 'tributary'), 'another project’s command')
  const path = [others, '', join(folder, 'nowhere')].join(delimiter)
  assert.deepEqual(findCommand({ byNpm: true, path }, '/opt/tributary'), {
    words: 'npm run --silent tributary --',
    knowsSettings: false,
  })
  assert.deepEqual(findCommand({ byNpm: false, path }, '/opt/my tributary'), {
    words: `${process.execPath} '/opt/my tributary/cli/main.ts'`,
    knowsSettings: false,
  })
  assert.deepEqual(findCommand({ byNpm: false, path: path + delimiter + ours }, '/opt/tributary'), {
    words: 'tributary',
    knowsSettings: true,
  })
})
