#include "paceline/launcher/launcher.h"

int main(int argc, char** argv) { return paceline::launcher::run({argv + 1, argv + argc}); }
