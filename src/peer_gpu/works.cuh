// SPDX-License-Identifier: Apache-2.0
// All that a kernel may have to do for a pair, as types: what is one pair's is known when it is
// matched, and a kernel that serves a single pair has no other code. The less a launch has to
// fetch, the sooner its message leaves: with the choice made in the kernel, 8 bytes took 2.2 us in
// a graph instead of 1.7 (docs/performance.md).
#pragma once

#include <cstdint>
#include <type_traits>

#include "peer_gpu/rendezvous_work.cuh"
#include "peer_gpu/ring_work.cuh"

namespace penstock::peer_gpu {

template <class... Each>
struct Works {
  static constexpr unsigned count = sizeof...(Each);

  // Device: does the one with this number.
  template <Form form>
  static __device__ void run(unsigned work, const Reports& reports, const Pair& pair,
                             const BlockIndex& place, Crew<form>& crew) {
    unsigned i = 0;
    (void)((i++ == work && (Each::template run<form>(reports, pair, place, crew), true)) || ...);
  }
  template <class Work>
  static constexpr unsigned number() {
    unsigned i = 0;
    (void)((std::is_same_v<Work, Each> || (++i, false)) || ...);
    return i;
  }
};

// One unit for each thread, or several.
template <Fit fit>
using Cell1 = RingPort<Cells<fit>, 1>;
template <Fit fit>
using Cell4 = RingPort<Cells<fit>, 4>;
template <Fit fit>
using Wide1 = RingPort<WideLines<fit>, 1>;
template <Fit fit>
using Wide4 = RingPort<WideLines<fit>, 4>;

template <class... Lists>
struct Join;
template <class... Each>
struct Join<Works<Each...>> {
  using Type = Works<Each...>;
};
template <class... A, class... B, class... Rest>
struct Join<Works<A...>, Works<B...>, Rest...> {
  using Type = typename Join<Works<A..., B...>, Rest...>::Type;
};

template <protocol::Mode mode, Fit fit>
using RingSends = Works<StartRingSend<mode, Cell1<fit>>, StartRingSend<mode, Cell4<fit>>,
                        StartRingSend<mode, Wide1<fit>>, StartRingSend<mode, Wide4<fit>>>;
template <protocol::Mode mode>
using AllRingSends =
    typename Join<RingSends<mode, Fit::words>, RingSends<mode, Fit::bytes>,
                  RingSends<mode, Fit::rows>, RingSends<mode, Fit::half_rows>>::Type;
template <Fit fit>
using RingReceives = Works<WaitRingReceive<Cell1<fit>>, WaitRingReceive<Cell4<fit>>,
                           WaitRingReceive<Wide1<fit>>, WaitRingReceive<Wide4<fit>>>;

using RingStarts =
    Join<Works<StartRingReceive>, AllRingSends<protocol::Mode::standard>,
         AllRingSends<protocol::Mode::synchronous>, AllRingSends<protocol::Mode::ready>>::Type;
using RingWaits =
    Join<Works<WaitRingSend, SettleRingSend>, RingReceives<Fit::words>, RingReceives<Fit::bytes>,
         RingReceives<Fit::rows>, RingReceives<Fit::half_rows>>::Type;
using RendezvousStarts =
    Works<StartRendezvousReceive, StartRendezvousSend<protocol::Mode::standard, true>,
          StartRendezvousSend<protocol::Mode::standard, false>,
          StartRendezvousSend<protocol::Mode::ready, true>,
          StartRendezvousSend<protocol::Mode::ready, false>>;
using RendezvousWaits = Works<WaitRendezvousSend<protocol::Mode::standard, true>,
                              WaitRendezvousSend<protocol::Mode::standard, false>,
                              WaitRendezvousSend<protocol::Mode::ready, true>,
                              WaitRendezvousSend<protocol::Mode::ready, false>,
                              WaitRendezvousReceive<protocol::Mode::standard, true>,
                              WaitRendezvousReceive<protocol::Mode::standard, false>,
                              WaitRendezvousReceive<protocol::Mode::ready, true>,
                              WaitRendezvousReceive<protocol::Mode::ready, false>>;

// Host: the numbers. Synchronous rendezvous is what a standard one is anyway.

// Calls number(port) with the port that a pair's kernel has.
template <Fit fit, class Number>
unsigned with_port_of(const Pair& pair, Number number) {
  const bool wide = pair.path == Path::wide_ring;
  const bool several = pair.share * (wide ? wide_cells : 1) > pair.threads;
  if (wide)
    return several ? number(std::type_identity<Wide4<fit>>())
                   : number(std::type_identity<Wide1<fit>>());
  return several ? number(std::type_identity<Cell4<fit>>())
                 : number(std::type_identity<Cell1<fit>>());
}
template <class Number>
unsigned with_port(const Pair& pair, Number number) {
  switch (fit_of(pair)) {
    case Fit::words:
      return with_port_of<Fit::words>(pair, number);
    case Fit::rows:
      return with_port_of<Fit::rows>(pair, number);
    case Fit::half_rows:
      return with_port_of<Fit::half_rows>(pair, number);
    default:
      return with_port_of<Fit::bytes>(pair, number);
  }
}

inline unsigned ring_start(const Pair& pair) {
  if (!pair.sends) return RingStarts::number<StartRingReceive>();
  return with_port(pair, [&]<class Port>(std::type_identity<Port>) {
    switch (pair.mode) {
      case protocol::Mode::synchronous:
        return RingStarts::number<StartRingSend<protocol::Mode::synchronous, Port>>();
      case protocol::Mode::ready:
        return RingStarts::number<StartRingSend<protocol::Mode::ready, Port>>();
      default:
        return RingStarts::number<StartRingSend<protocol::Mode::standard, Port>>();
    }
  });
}

inline unsigned ring_wait(const Pair& pair) {
  if (pair.sends) return RingWaits::number<WaitRingSend>();
  return with_port(pair, []<class Port>(std::type_identity<Port>) {
    return RingWaits::number<WaitRingReceive<Port>>();
  });
}

template <template <protocol::Mode, bool> class Work, class List>
unsigned rendezvous_number(const Pair& pair) {
  if (pair.mode == protocol::Mode::ready)
    return pair.native_atomics ? List::template number<Work<protocol::Mode::ready, true>>()
                               : List::template number<Work<protocol::Mode::ready, false>>();
  return pair.native_atomics ? List::template number<Work<protocol::Mode::standard, true>>()
                             : List::template number<Work<protocol::Mode::standard, false>>();
}

inline unsigned rendezvous_start(const Pair& pair) {
  return pair.sends ? rendezvous_number<StartRendezvousSend, RendezvousStarts>(pair)
                    : RendezvousStarts::number<StartRendezvousReceive>();
}

inline unsigned rendezvous_wait(const Pair& pair) {
  return pair.sends ? rendezvous_number<WaitRendezvousSend, RendezvousWaits>(pair)
                    : rendezvous_number<WaitRendezvousReceive, RendezvousWaits>(pair);
}

}  // namespace penstock::peer_gpu
