/**
 * Assembles the room of webhooks: the actions of users and operators on endpoints and deliveries. Doors call
 * only these actions; the composition root starts the worker and the sweeps.
 */
import {
  type ChangeEndpoint,
  makeDisableEndpoint,
  makeEnableEndpoint,
  makeRemoveEndpoint,
  makeRotateEndpoint,
  type RemoveEndpoint,
  type RotateEndpoint,
} from './change-endpoint.ts'
import { type CreateEndpoint, makeCreateEndpoint } from './create-endpoint.ts'
import type { EndpointDeps } from './endpoint-deps.ts'
import {
  makeReplayDelivery,
  makeReplayRange,
  type ReplayDelivery,
  type ReplayRange,
} from './replay.ts'
import { makeTestEndpoint, type TestEndpoint } from './test-endpoint.ts'

export interface Webhooks {
  readonly createEndpoint: CreateEndpoint
  readonly rotateEndpoint: RotateEndpoint
  readonly enableEndpoint: ChangeEndpoint
  readonly disableEndpoint: ChangeEndpoint
  readonly removeEndpoint: RemoveEndpoint
  readonly testEndpoint: TestEndpoint
  readonly replayDelivery: ReplayDelivery
  readonly replayRange: ReplayRange
}

/** Assembles the actions. */
export function makeWebhooks(deps: EndpointDeps): Webhooks {
  return {
    createEndpoint: makeCreateEndpoint(deps),
    rotateEndpoint: makeRotateEndpoint(deps),
    enableEndpoint: makeEnableEndpoint(deps),
    disableEndpoint: makeDisableEndpoint(deps),
    removeEndpoint: makeRemoveEndpoint(deps),
    testEndpoint: makeTestEndpoint(deps),
    replayDelivery: makeReplayDelivery(deps),
    replayRange: makeReplayRange(deps),
  }
}
