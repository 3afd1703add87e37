#include "paceline/algorithms/mixing/turns.h"

namespace paceline::algorithms {

bool has_turn(Turns turns, TurnOf which, const GroupKey& key) {
  switch (turns) {
    case Turns::kSwitch:
      return (key.draws(Drawn::kTurn).below(2) == 0) == (which == TurnOf::kFirst);
    case Turns::kSequential:
      return true;
    case Turns::kAlternate:
      return (key.step % 2 == 0) == (which == TurnOf::kFirst);
  }
  return true;
}

}  // namespace paceline::algorithms
