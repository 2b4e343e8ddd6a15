/** Which posted row replaced which pending one, rule by rule (reading R39). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  emptyMemory,
  findReplaced,
  type ListedPending,
  type PostedLikeness,
  settlePending,
} from './match-pending.ts'

const firstDay = '2026-03-01'
const firstAt = Date.parse(`${firstDay}T12:00:00Z`)

const purchase = {
  day: firstDay,
  isOut: true,
  texts: ['coffee'],
  amount: '-4.50',
  mayChange: false,
} as const

/** What is said of a posted row after pending ones were seen and are gone. */
function claim(
  given: Partial<ListedPending>,
  posted: readonly Partial<PostedLikeness>[],
  others: readonly Partial<ListedPending>[] = [],
): readonly (string | null)[] {
  const listed = [given, ...others].map((one, index) => ({ ...purchase, id: `p${index}`, ...one }))
  const found = posted.map((one, index) => ({ ...purchase, print: `t${index}`, ...one }))
  const seen = settlePending(emptyMemory, { listed, posted: [], now: firstAt, today: firstDay })
  const later = { listed: [], posted: found, now: firstAt + 1, today: firstDay }
  const memory = settlePending(seen, later)
  return found.map(({ print }) => findReplaced(memory, print))
}

test('R39: a posted row of the same direction, text and amount replaced the one pending row that is gone', () => {
  assert.deepEqual(claim({}, [{}]), ['p0'])
  assert.deepEqual(claim({}, [{ texts: ['tea'] }]), [null])
  assert.deepEqual(claim({}, [{ amount: '-4.60' }]), [null])
  assert.deepEqual(claim({}, [{ isOut: false }]), [null])
})

test('R39: the text or the merchant is enough', () => {
  assert.deepEqual(claim({ texts: ['hold', 'cafe'] }, [{ texts: ['card 17', 'cafe'] }]), ['p0'])
  assert.deepEqual(claim({ texts: [] }, [{ texts: [] }]), [null])
})

test('R39: where one of both is foreign or of a fuel pump the amount may differ, and never the direction', () => {
  for (const side of [true, false]) {
    const [pending, posted] = [{ mayChange: side }, { mayChange: !side, amount: '-61.00' }]
    assert.deepEqual(claim(pending, [posted]), ['p0'])
    // A refund of the same shop.
    assert.deepEqual(claim(pending, [{ ...posted, isOut: false }]), [null])
  }
})

test('R39: ten days apart at most, whichever is first', () => {
  assert.deepEqual(claim({}, [{ day: '2026-03-11' }]), ['p0'])
  assert.deepEqual(claim({}, [{ day: '2026-03-12' }]), [null])
  assert.deepEqual(claim({}, [{ day: '2026-02-19' }]), ['p0'])
  assert.deepEqual(claim({}, [{ day: '2026-02-18' }]), [null])
})

test('R39: nothing is claimed where two rows of either kind fit', () => {
  assert.deepEqual(claim({}, [{}, {}]), [null, null])
  assert.deepEqual(claim({}, [{}], [{}]), [null])
})
