import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './html.ts'
import { table } from './table.ts'

test('the first column heads its row, the others are named, and text in cells is escaped', () => {
  const columns = [
    { name: 'Key', show: ({ key }: { key: string }) => key },
    { name: 'A & B', show: () => html`<b>x</b>`, className: 'answer' },
    { name: 'Button', show: () => null, isPlain: true as const },
  ]
  assert.equal(
    table('Keys "of" mine', columns, [{ key: '<k>' }], 'numbers').toString(),
    `<table role="table" aria-label="Keys &quot;of&quot; mine" class="numbers">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Key</th><th role="columnheader" scope="col" class="answer">A &amp; B</th><th role="columnheader" scope="col">Button</th></tr></thead>
<tbody role="rowgroup"><tr role="row">
<th role="rowheader" scope="row">&lt;k&gt;</th>
<td role="cell" data-label="A &amp; B" class="answer"><b>x</b></td>
<td role="cell"></td>
</tr></tbody>
</table>`,
  )
})

test('a first column that says by itself what it is heads no row', () => {
  const columns = [{ name: 'When', show: (row: number) => row, isPlain: true as const }]
  const { length } =
    table('Days', columns, [1, 2])
      .toString()
      .match(/<td role="cell">/g) ?? []
  assert.equal(length, 2)
  assert.doesNotMatch(table('Days', columns, [1]).toString(), /rowheader/)
})
