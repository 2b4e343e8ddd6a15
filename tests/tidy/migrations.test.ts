/**
 * Migrations go in two steps, so that two versions run side by side:
 * docs/decisions/0018-expand-and-contract.md.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeMigration, listContracting } from '#tests/support/migration-rule.ts'
import { codeFiles, files, findLines, isTest, readText } from './tree.ts'

const folders = ['src/store/migrations/', 'src/store/key-migrations/']

/** Of each folder the migrations from before the rule, which never change. */
const before = [16, 1]

/** Those of them that took something away: beside them no older version ran. */
const formerlyContracting = ['0011_served_endpoints.sql']

const migrations = folders.map((folder) =>
  files
    .filter((path) => path.startsWith(folder))
    .map((path) => path.slice(folder.length))
    .sort()
    .map((name) => ({ name, number: Number(name.slice(0, 4)), text: readText(folder + name) })),
)

test('a migration only adds, or says how new the code must be that runs beside it', () => {
  const bad = migrations.flatMap((list, index) =>
    list
      .filter(({ number }) => number > (before[index] ?? 0))
      .flatMap((migration) => judgeMigration(migration).map((one) => `${migration.name} ${one}`)),
  )
  assert.deepEqual(bad, [])
})

test('of the migrations from before the rule, only the known ones took something away', () => {
  const contracting = migrations
    .flat()
    .filter(({ number, text }) => number <= 16 && listContracting(text).length > 0)
  assert.deepEqual(
    contracting.map(({ name }) => name),
    formerlyContracting,
  )
})

test('no migration makes a sequence or a computed column: a copy of the store carries none', () => {
  const made = /\b(?:serial|bigserial|identity|sequence|autoincrement|generated)\b/i
  const bad = migrations.flat().filter(({ text }) => made.test(text.replaceAll(/--.*$/gm, '')))
  assert.deepEqual(bad, [])
})

test('only migrations change the schema: no code beside the known places alters or drops anything', () => {
  // The second part of migration 0013, and the copy, which makes again what it takes away.
  const places = ['src/store/events/seal-urls.ts', 'src/store/copy/set-aside.ts']
  const product = codeFiles.filter((path) => path.startsWith('src/') && !isTest(path))
  const changing = /\b(?:alter table|drop (?:table|index|column|schema)|truncate table)\b/
  const found = findLines(
    product.filter((path) => !places.includes(path)),
    changing,
  )
  assert.deepEqual(found, [])
})

test('what takes away is told from what adds', () => {
  const adding = [
    'create table t (id uuid not null primary key)',
    'create table t (id uuid not null);\ncreate unique index i on t (id)',
    'create index i on users (name)',
    'alter table users add column a text',
    'alter table users add column a boolean not null default false',
    "update users set name = 'drop table users' where false",
    '-- drop table users;\ncreate table t (id uuid)',
  ]
  for (const text of adding) assert.deepEqual(listContracting(`${text};\n`), [], text)
  const taking = [
    'drop table users',
    'drop index i',
    'alter table users drop column name',
    'alter table users rename column name to title',
    'alter table users rename to people',
    'alter table users alter column name set not null',
    'alter table users add column a text not null',
    'alter table users add column a uuid references t (id)',
    'alter table users add constraint c check (true)',
    'create unique index i on users (name)',
    'delete from users',
    'create trigger t before insert on users execute function f()',
  ]
  for (const text of taking) assert.equal(listContracting(`${text};\n`).length, 1, text)
})

test('a step that takes away needs code of an earlier step, and says so', () => {
  const judge = (text: string) => judgeMigration({ number: 20, text })
  const drop = 'alter table users drop column name;\n'
  assert.deepEqual(judge(drop).length, 1)
  assert.deepEqual(judge(`-- Needs: 0019\n${drop}`), [])
  assert.match(judge(`-- Needs: 0020\n${drop}`)[0] ?? '', /must be in an earlier step/)
  assert.match(judge(`-- Needs: the last\n${drop}`)[0] ?? '', /no number/)
  assert.match(judge('-- Needs: 0019\ncreate table t (id uuid);\n')[0] ?? '', /takes nothing away/)
})
