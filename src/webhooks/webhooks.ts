/**
 * Assembles the room of webhooks: the actions of users and operators on endpoints and deliveries. Doors call
 * only these actions; the composition root starts the worker and the sweeps.
 */
import {
  makeDisableEndpoint,
  makeEnableEndpoint,
  makeRemoveEndpoint,
  makeRotateEndpoint,
} from './change-endpoint.ts'
import { makeRemoveConsumer } from './consumers.ts'
import { makeCreateEndpoint } from './create-endpoint.ts'
import type { EndpointOptions } from './endpoint-options.ts'
import { makeFindPayload } from './find-payload.ts'
import { makeReplayDelivery, makeReplayRange } from './replay.ts'
import { makeTestEndpoint } from './test-endpoint.ts'

/** What each action does stands in its file. */
export type Webhooks = ReturnType<typeof makeWebhooks>

export function makeWebhooks(options: EndpointOptions) {
  return {
    createEndpoint: makeCreateEndpoint(options),
    rotateEndpoint: makeRotateEndpoint(options),
    enableEndpoint: makeEnableEndpoint(options),
    disableEndpoint: makeDisableEndpoint(options),
    removeEndpoint: makeRemoveEndpoint(options),
    removeConsumer: makeRemoveConsumer(options),
    testEndpoint: makeTestEndpoint(options),
    replayDelivery: makeReplayDelivery(options),
    replayRange: makeReplayRange(options),
    findPayload: makeFindPayload(options),
  }
}
